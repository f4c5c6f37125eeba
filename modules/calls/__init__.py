"""How LM calls pass through DSPy: the gate and its meters, the limits around it, the adapter, failures."""
