"""The full-screen live view. Needs textual, which comes with the extra `top`; only the verb imports it."""
