"""How everything looks: one theme, and the HTML, SVG, tables and pictures that use it."""
