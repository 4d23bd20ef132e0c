"""Write ``docs/compat-names.md``."""

from integration.triton_names.page import PAGE, page

PAGE.write_text(page())
