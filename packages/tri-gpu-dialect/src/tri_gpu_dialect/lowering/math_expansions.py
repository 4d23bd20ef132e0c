"""stub"""
EXPANSIONS = {}
