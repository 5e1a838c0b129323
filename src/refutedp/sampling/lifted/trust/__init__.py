"""What proves a lift: replays through the plain function, watches on state, refused code."""
