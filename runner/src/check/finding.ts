/** One result of `auspex-runner check`. */
export interface Finding {
  ok: boolean;
  name: string;
  /** What was found. */
  detail: string;
  /** How to fix it. If `ok` is true, the finding is a warning. */
  advice?: string;
}
