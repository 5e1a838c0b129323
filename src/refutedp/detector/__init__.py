"""The paper's loop, one file a step: prepare, race, plan, confirm, cross-examine."""
