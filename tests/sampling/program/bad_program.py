"""Programs that break the command protocol, each in its own way: `bad_program.py MODE TOKEN [NUMBER]`.

The token does nothing: a test finds the program, and its children, by it in the list of processes.
"""

import json
import os
import signal
import subprocess
import sys
import time

CHILD = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


def write(text):
    os.write(1, text if isinstance(text, bytes) else text.encode())


def answer(request, outputs, **more):
    write(json.dumps({"id": request["id"], "outputs": outputs, **more}) + "\n")


def silent(request):
    time.sleep(600)


def slow(request):
    for _ in range(request["count"]):
        answer(request, [0])
        time.sleep(0.2)


def crash(request):
    answer(request, [0] * 3)
    print("Traceback (most recent call last):\n  ...\nValueError: no such query", file=sys.stderr)
    sys.exit(7)


def abort(request):
    answer(request, [0])
    os.kill(os.getpid(), signal.SIGSEGV)


def early(request):
    sys.exit(0)


def garbage(request):
    write("segment 12: ready\n")


def binary(request):
    write(b'{"id": 1, "outputs": ["\xff\xfe"]}\n')


def endless_outputs(request):
    while True:
        answer(request, [0] * 100)


def endless_blank(request):
    while True:
        write(b"\n" * 1000)


def endless_line(request):
    while True:
        write(b"[" * 65536)


def endless_batches(request):
    while True:
        answer(request, [])


def endless_errors(request):
    while True:
        os.write(2, b"warning: low entropy\n" * 1000)


def huge_line(request):
    write(b'{"id": 1, "outputs": ["' + b"x" * (40 * 2**20) + b'"], "done": true}\n')


def deep(request):
    write(b'{"id": 1, "outputs": [' + b"[" * 200_000 + b"]" * 200_000 + b"]}\n")


def long_integer(request):
    write(b'{"id": 1, "outputs": [' + b"9" * 5000 + b"]}\n")


def few(request):
    answer(request, [0] * (request["count"] - 1), done=True)


def many(request):
    answer(request, [0] * (request["count"] + 1), done=True)


def no_end(request):
    answer(request, [0] * request["count"])


def other_id(request):
    write(json.dumps({"id": request["id"] + 1, "outputs": [0]}) + "\n")


def refuse(request):
    write(json.dumps({"id": request["id"], "failure": "there is no argument 'threshold'"}) + "\n")


def unasked(request):
    answer(request, [0] * request["count"], done=True)
    answer(request, [1], done=True)


def unknown_key(request):
    answer(request, [0], result=1)


def bad_float(request):
    answer(request, [{"$float": "infinity"}])


def inner_error(request):
    answer(request, [[{"$error": "ValueError"}]])


def not_a_list(request):
    write(json.dumps({"id": request["id"], "outputs": 5}) + "\n")


def closes_output(request):
    os.close(1)
    time.sleep(600)


def deaf(request):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)


def children(request):
    for _ in range(2):
        subprocess.Popen([sys.executable, "-c", CHILD, sys.argv[2]])
    time.sleep(600)


def leaves_children(request):
    subprocess.Popen([sys.executable, "-c", CHILD, sys.argv[2]])
    sys.exit(4)


def main():
    mode = sys.argv[1]
    if mode == "never_reads":
        time.sleep(600)
    for line in sys.stdin:
        globals()[mode](json.loads(line))


if __name__ == "__main__":
    main()
