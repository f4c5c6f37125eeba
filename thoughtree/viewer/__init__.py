"""The viewer: a search as one HTML file, to be looked at and played in a browser without a network.

`runs` reads what is shown, `document` turns it into compact JSON, `page` puts it into the page of `static/`.
"""

from .document import calls, document
from .page import page
from .runs import Run
from .writing import beside, runs_of, view, write

__all__ = ["Run", "beside", "calls", "document", "page", "runs_of", "view", "write"]
