/** The report of a storm: a table, and the evidence of each breach. */
import { print } from "../bench/table.ts";
import type { History } from "./history.ts";
import type { Checked } from "./promises/all.ts";
import { type Breach, endOf } from "./promises/promise.ts";

/** The most breaches that are shown of each promise. */
const MOST_SHOWN = 5;
/**
 * The report shows faults from this long before a prediction's creation to this long after its last change,
 * ms.
 */
const AROUND_MS = 2_000;

export function report(history: History, checked: Checked[], title: string): void {
  print({
    title,
    head: ["what was promised", "checked", "broken"],
    rows: checked.map(({ name, checked, breaches }) => [name, `${checked}`, `${breaches.length}`]),
    notes: [summary(history)],
  });
  for (const { name, breaches } of checked.filter((one) => one.breaches.length > 0)) {
    console.log(`\nBROKEN: ${name}`);
    for (const breach of breaches.slice(0, MOST_SHOWN)) console.log(detail(history, breach));
    if (breaches.length > MOST_SHOWN) console.log(`  … and ${breaches.length - MOST_SHOWN} more`);
  }
}

function summary({ calls, ends, faults, readings }: History): string {
  const statuses = countsOf(ends.map(({ object }) => object?.status ?? "gone"));
  const connections = readings.reduce((sum, reading) => sum + reading.connections.length, 0);
  const accepted = new Set(calls.flatMap(({ accepted }) => accepted.map(({ id }) => id)));
  return [
    `${calls.length} calls, ${accepted.size} predictions accepted, ${ends.length} made: ${statuses}`,
    `${readings.length} readers over ${connections} connections`,
    `${faults.length} faults: ${countsOf(faults.map(({ what }) => what.replace(/ \d+|of \d+/, "")))}`,
    `failures: ${countsOf(ends.flatMap(({ object }) => (object?.error ? [reasonIn(object.error)] : [])))}`,
  ].join("\n");
}

/** Returns the first line of an error: the last output of a container follows on further lines. */
const reasonIn = ({ message }: { message: string }) => message.split("\n")[0] ?? "";

function countsOf(words: string[]): string {
  const groups = [...Map.groupBy(words, (word) => word)];
  return groups.map(([word, { length }]) => `${length} ${word}`).join(", ");
}

function detail(history: History, { id, n, what }: Breach): string {
  const call = history.calls.find((made) => made.call.n === n)?.call;
  const object = id === undefined ? undefined : endOf(history, id)?.object;
  const lines = [`  - ${what}`, `    prediction ${id ?? "unknown"}`];
  if (call) lines.push(`    call ${JSON.stringify(call)}`);
  if (object) {
    const from = Date.parse(object.created_at);
    const to = Date.parse(object.updated_at);
    const faults = history.faults.filter(({ at }) => at > from - AROUND_MS && at < to + AROUND_MS);
    lines.push(`    ${object.status}, ${object.created_at} to ${object.updated_at}`);
    const times = faults.map(({ at, what }) => `${at - from} ms ${what}`);
    lines.push(`    faults since it was made: ${times.join("; ")}`);
  }
  return lines.join("\n");
}
