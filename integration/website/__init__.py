"""The site: what mkdocs needs beside the pages of docs/.  ``nox -s site`` builds it."""
