/** The bill as a table, and the limits of each prediction. */
import {
  aMillion,
  dollars,
  KINDS,
  type Operations,
  objectRequests,
  rowsWritten,
} from "./prices.ts";
import type { Table, Verdict } from "./table.ts";

/** The cost of a prediction: of a no-op, of a stream with a reader, and of one without. */
export type Bill = Record<"noop" | "read" | "unread", Operations>;

interface Conditions {
  noops: number;
  /** Tokens of each stream. */
  tokens: number;
  perSecond: number;
}

/** The limits of a stream of 500 tokens at 50 a second. */
const MOST_READ_ROWS = 60;
const MOST_READ_REQUESTS = 60;
const MOST_READ_DOLLARS = 90;
const MOST_UNREAD_ROWS = 30;
const MOST_NOOP_ROWS = 6;
const MOST_NOOP_DOLLARS = 16;

export function billTable(bill: Bill, { noops, tokens, perSecond }: Conditions): Table {
  const all = [bill.noop, bill.read, bill.unread];
  const limit = (what: string, value: number, most: number): Verdict => ({
    what,
    value,
    bound: { most },
    hard: true,
  });
  return {
    title: "Billable operations of a prediction, and a million of them at list prices",
    head: ["", "no-op", "a million", "read stream", "a million", "unread stream", "a million"],
    rows: [
      ...KINDS.map((kind) => [
        kind.replaceAll("_", " "),
        ...all.flatMap((counted) => [number(counted[kind]), money(1e6 * dollars(counted, kind))]),
      ]),
      ["in all", ...all.flatMap((counted) => ["", money(aMillion(counted))])],
    ],
    notes: [
      `no-op: ${noops} one after the other; streams: ${tokens} tokens at ${perSecond}/s, alone; all to the end of retention`,
      "log events: as if LOG_SAMPLE_RATE were 1",
      "not counted: the Worker's CPU time, $0.02 for a million ms, and what is stored",
      "beside them, for each active account and minute: 4 rows of D1 and a message, about its counts",
      "beside them, per hardware class: a pool that is always awake, $4.15 a month",
    ],
    verdicts: [
      limit("rows written for a stream that is read", rowsWritten(bill.read), MOST_READ_ROWS),
      limit("object requests of it", objectRequests(bill.read), MOST_READ_REQUESTS),
      limit("dollars for a million of it", aMillion(bill.read), MOST_READ_DOLLARS),
      limit("rows written for one that nobody reads", rowsWritten(bill.unread), MOST_UNREAD_ROWS),
      limit("rows written for a no-op", rowsWritten(bill.noop), MOST_NOOP_ROWS),
      limit("dollars for a million no-ops", aMillion(bill.noop), MOST_NOOP_DOLLARS),
    ],
  };
}

const number = (value: number) => (Number.isInteger(value) ? String(value) : value.toFixed(2));
const money = (value: number) => `$${value.toFixed(2)}`;
