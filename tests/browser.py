"""A real browser for tests: where it is, and tabs that keep its complaints. The fixture `browser`
starts it.
"""

import shutil

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)


class Tab:
    """A tab of the browser; its complaints and its requests for anything but a file are kept."""

    def __init__(self, browser, **settings):
        self.page = browser.new_page(**settings)
        self.complaints = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on(
            "console",
            lambda said: (
                self.complaints.append(said.text) if said.type in ("error", "warning") else None
            ),
        )
        self.page.on(
            "request",
            lambda asked: (
                self.complaints.append(asked.url) if not asked.url.startswith("file:") else None
            ),
        )
