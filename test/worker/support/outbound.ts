/** A resolver of made-up names, on the receiver beside these tests, and settings that use it. */
import type { WebhookSettings } from "../../../src/env.ts";
import type { Behaviour } from "../../receiver/exchange.ts";
import { addressOf, freshPath, script } from "./receiver.ts";

/** Settings without a resolver, and with a time limit that is longer than a test may take. */
export const patient: WebhookSettings = {
  allowInsecure: true,
  timeoutMs: 60_000,
  firstRetryMs: 5_000,
  switchOffMs: 86_400_000,
  resolver: "http://127.0.0.1:1/",
};

/** Settings with a limit of 0.3 s, for receivers that do not answer: others may be late on a busy machine. */
export const impatient: WebhookSettings = { ...patient, timeoutMs: 300 };

/** The numbers of record types. */
const NUMBERS = { A: 1, CNAME: 5, AAAA: 28 };
type Type = keyof typeof NUMBERS;

export interface Zone {
  A?: Behaviour[];
  AAAA?: Behaviour[];
}

/** Returns a resolver's answer with these records: `type data`, as in "A 192.0.2.1". */
export const records = (found: string[], ttl = 300): Behaviour =>
  says({
    Status: 0,
    Answer: found.map((record) => {
      const [type, data] = record.split(" ");
      return { name: "it.", type: NUMBERS[type as Type], TTL: ttl, data };
    }),
  });

/** Returns an answer of a resolver with any content. */
export const says = (message: unknown): Behaviour => ({
  status: 200,
  headers: { "content-type": "application/dns-json" },
  body: JSON.stringify(message),
});

/** Scripts a resolver that knows one name. @returns settings that use it */
export async function resolving(
  name: string,
  { A = [records([])], AAAA = [records([])] }: Zone,
  limits = patient,
): Promise<{ settings: WebhookSettings; path: string }> {
  const path = freshPath();
  await script(path, says({ Status: 3 }));
  await script(`${path}?name=${name}&type=A`, ...A);
  await script(`${path}?name=${name}&type=AAAA`, ...AAAA);
  return { path, settings: { ...limits, resolver: addressOf(path) } };
}
