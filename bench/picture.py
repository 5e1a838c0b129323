"""The pictures of the README: the first screen of the report on its own example, in light and dark.

python -m bench.picture writes docs/images/report-light.png and report-dark.png; it needs Chromium and playwright.
"""

import os
import re
import shutil
import sys
import tempfile
from io import BytesIO
from pathlib import Path

from refutedp import check, load_mechanism

ROOT = Path(__file__).parents[1]
WIDTH, HEIGHT = 1000, 512
COLOURS = 64


def main():
    from PIL import Image
    from playwright.sync_api import sync_playwright

    example = re.search(
        r"^```python\n# file: noisy_max\.py\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S
    )
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as engine:
        (Path(folder) / "noisy_max.py").write_text(example[1])
        sys.path.insert(0, folder)
        os.chdir(folder)
        check(load_mechanism("noisy_max.py:noisy_max"), epsilon=1.0).to_html("report.html")
        chromium = engine.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        for scheme in ("light", "dark"):
            page = chromium.new_context(
                viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=1.5, color_scheme=scheme
            ).new_page()
            page.goto(Path(folder, "report.html").as_uri())
            picture = Image.open(BytesIO(page.screenshot())).convert("RGB").quantize(COLOURS)
            target = ROOT / "docs" / "images" / f"report-{scheme}.png"
            picture.save(target, optimize=True)
            print(f"{target.relative_to(ROOT)}: {target.stat().st_size:,} bytes")
        chromium.close()


if __name__ == "__main__":
    main()
