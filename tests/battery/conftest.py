collect_ignore_glob = ["programs/*", "*_half.py", "together.py"]
