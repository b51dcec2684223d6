"""The only room that speaks to models. ``generate`` asks one, ``localmodel`` runs the small one, ``types`` is the contract.

``types``, ``text``, ``window`` and ``localmodel`` are light to import; the other modules bring the model libraries.
"""
