-- References are found by their letters first: nearly all are of one workspace, and SQLite compares an index
-- that begins with text at a fraction of the cost of one whose second column is text.
DROP INDEX folders_by_reference;
DROP INDEX assignments_by_reference;
DROP INDEX expenses_by_reference;
DROP INDEX budgets_by_reference;
CREATE UNIQUE INDEX folders_by_reference ON folders (reference, ws);
CREATE UNIQUE INDEX assignments_by_reference ON assignments (reference, ws);
CREATE UNIQUE INDEX expenses_by_reference ON expenses (reference, ws);
CREATE UNIQUE INDEX budgets_by_reference ON budgets (reference, ws);
