// The states of a value for undo and redo.

export interface History<T> {
  current(): T;
  /** Adds a state. States that were undone are dropped. */
  push(state: T): void;
  /** Replaces all states by one. */
  reset(state: T): void;
  /** Returns whether there was a state to go back to. */
  undo(): boolean;
  redo(): boolean;
  canUndo(): boolean;
  canRedo(): boolean;
}

export function createHistory<T>(initial: T): History<T> {
  let states = [initial];
  let index = 0;
  const canUndo = () => index > 0;
  const canRedo = () => index + 1 < states.length;
  return {
    current: () => states[index] as T,
    push(state) {
      states = [...states.slice(0, index + 1), state];
      index += 1;
    },
    reset(state) {
      states = [state];
      index = 0;
    },
    undo() {
      if (!canUndo()) return false;
      index -= 1;
      return true;
    },
    redo() {
      if (!canRedo()) return false;
      index += 1;
      return true;
    },
    canUndo,
    canRedo,
  };
}
