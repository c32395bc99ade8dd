"""Deployment recipes: read, held against a node, planned, applied below one folder, verified and undone.

`document` and `load` make a `Recipe` of a file; `node_facts`, `conditions`, `match` and `computed` hold it against a
node; `plan` says every byte that would be written; `generations` and `apply` write it and take it back.
"""
