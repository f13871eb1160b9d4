/** The recorder, which writes events of the storm down as they are seen. */
import { createWriteStream, type WriteStream } from "node:fs";
import {
  type Prediction,
  type PredictionWithIO,
  predictionWithIO,
} from "../../src/protocol/prediction.ts";
import type { History, MadeCall, Oddity, Sighting } from "./history.ts";
import type { Call } from "./plan/calls.ts";
import { digest, isFinal } from "./state.ts";

export class Recorder {
  readonly history: History = {
    calls: [],
    faults: [],
    sightings: [],
    looks: [],
    readings: [],
    oddities: [],
    endpoints: [],
    deliveries: [],
    ends: [],
    changes: [],
    lists: [],
    budgetLooks: [],
    money: [],
    leftovers: [],
  };
  readonly #timeline: WriteStream;
  readonly #began = Date.now();

  /** @param timeline a file with a line of JSON for each event, with ms since the storm began */
  constructor(timeline: string) {
    this.#timeline = createWriteStream(timeline);
  }

  /** Writes a line of the timeline. */
  note(what: string, more: object = {}): void {
    const ms = Date.now() - this.#began;
    this.#timeline.write(`${JSON.stringify({ ms, what, ...more })}\n`);
  }

  fault(what: string, ms: number): void {
    this.history.faults.push({ at: Date.now(), what, ms });
    this.note(what, { lasts: ms });
  }

  begin(call: Call): MadeCall {
    const made: MadeCall = { call, sent: 0, accepted: [], cancels: [] };
    this.history.calls.push(made);
    return made;
  }

  accepted(made: MadeCall, id: string): void {
    if (made.accepted.length === 0) this.note("accepted", { call: made.call.n, id });
    made.accepted.push({ id, at: Date.now() });
  }

  /** Records an answer that is a prediction. */
  sighting(by: Sighting["by"], askedAt: number, text: string): PredictionWithIO {
    const prediction = predictionWithIO.parse(JSON.parse(text));
    const { id, status } = prediction;
    const seen: Sighting = { id, by, status, askedAt, seenAt: Date.now() };
    if (isFinal(prediction)) seen.body = digest(prediction);
    this.history.sightings.push(seen);
    return prediction;
  }

  /** Records the rows of a list. */
  listed(rows: Prediction[], askedAt: number): void {
    const seenAt = Date.now();
    for (const { id, status } of rows)
      this.history.sightings.push({ id, by: "list", status, askedAt, seenAt });
  }

  odd(oddity: Omit<Oddity, "at">): void {
    this.history.oddities.push({ ...oddity, at: Date.now() });
    this.note("odd answer", oddity);
  }

  close(): void {
    this.#timeline.end();
  }
}
