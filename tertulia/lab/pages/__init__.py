"""Documents of sections, tables and plots, as HTML, Markdown, CSV and Parquet."""
