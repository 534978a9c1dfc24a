"""Tables: lists of rows that print as text, as HTML in notebooks, and become data frames."""
from __future__ import annotations

from html import escape


def _text(value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class Table(list):
    """Rows as dictionaries of the same columns."""

    def __init__(self, columns, rows=()):
        super().__init__(rows)
        self.columns = list(columns)

    def to_pandas(self):
        """A pandas.DataFrame. Raises ImportError where pandas is not installed."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_pandas() needs the package pandas: install it with `pip install pandas`; the table itself is a "
                              "list of dictionaries, and its columns are in .columns") from error
        return pandas.DataFrame(list(self), columns=self.columns)

    def __repr__(self) -> str:
        lines = [self.columns] + [[_text(row.get(column, "")) for column in self.columns] for row in self]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(column)}</th>" for column in self.columns)
        body = "".join("<tr>" + "".join(f"<td>{escape(_text(row.get(column, '')))}</td>" for column in self.columns)
                       + "</tr>" for row in self)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
