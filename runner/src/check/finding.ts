/** One thing that `auspex-runner check` has looked at. */
export interface Finding {
  ok: boolean;
  name: string;
  /** What is the case. */
  detail: string;
  /** What to do about it. With `ok`, the finding is a warning. */
  advice?: string;
}
