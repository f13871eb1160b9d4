/** Where the text of an output goes on: behind an event of the log, and in the middle of the next output. */
export interface OutputCursor {
  /** The id of the last event that was read. */
  after: number;
  /** How much was read of the output behind it: bytes of one that is stored apart, else UTF-16 units. */
  skip: number;
}

export const BEGIN: OutputCursor = { after: 0, skip: 0 };

export const cursorText = ({ after, skip }: OutputCursor): string =>
  skip === 0 ? String(after) : `${after}-${skip}`;

/** @returns undefined for what is none */
export function readCursor(text: string): OutputCursor | undefined {
  const [, after, skip = "0"] = /^(\d{1,12})(?:-(\d{1,12}))?$/.exec(text) ?? [];
  return after === undefined ? undefined : { after: Number(after), skip: Number(skip) };
}
