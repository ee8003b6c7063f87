"""What all pages are made with: our own templates, in which every text from outside is cleaned and escaped."""

from typing import TYPE_CHECKING

from seatrial.render.escape import clean

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

STYLE = "page.css"


def environment() -> "Environment":
    """Where templates are found and how they are filled in; a name that a template does not know is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("seatrial.render", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: clean(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def own_file(made_with: "Environment", name: str) -> "Markup":
    """One of our own files beside the templates, as it is. Raises LookupError where there is none."""
    from markupsafe import Markup

    if made_with.loader is None:
        raise LookupError(name)
    return Markup(made_with.loader.get_source(made_with, name)[0])  # noqa: S704 - our own file
