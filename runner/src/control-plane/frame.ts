/** The frames of a channel, as JSON. */
import type { Finish } from "../../../src/protocol/channel.ts";

/**
 * Larger frames bring no gain and are rejected a little above this size. A single output may be as
 * large as the output limit and then travels alone; anything else is split. This size also keeps a
 * frame below the protocol's 10,000 events, since none is shorter than 27 bytes.
 */
export const FRAME_BYTES = 256 * 1024;

export interface Portion {
  /** The JSON of each event. */
  events: string[];
  /** Set in the last portion only. */
  finish?: Finish;
}

export interface Frame {
  text: string;
  bytes: number;
  finish?: Finish;
  sends: number;
}

/**
 * Replaces a portion that cannot be serialized, for example because it is nested too deeply: a
 * defect.
 */
const UNREPORTABLE: Portion = {
  events: [],
  finish: {
    status: "failed",
    output: "none",
    error: { source: "internal", message: "The runner could not report the run" },
  },
};

export function createFrame(seq: number, portion: Portion): Frame {
  try {
    const { events, finish } = portion;
    const end = finish ? `,"finish":${JSON.stringify(finish)}` : "";
    const text = `{"type":"events","seq":${seq},"events":[${events.join()}]${end}}`;
    return { text, bytes: Buffer.byteLength(text), finish, sends: 0 };
  } catch {
    // There is no caller to handle the error: it would end the process and all its runs.
    return createFrame(seq, UNREPORTABLE);
  }
}
