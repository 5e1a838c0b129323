"""The paper's figures and tables, made again by one command: `refutedp reproduce`."""
