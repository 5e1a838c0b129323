"""`python -m refutedp` is the command `refutedp`."""

from refutedp.cli import main

if __name__ == "__main__":
    main()
