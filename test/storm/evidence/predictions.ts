/** The final state of each prediction, from every side. */
import { createHash } from "node:crypto";
import { CallFailed, type Client } from "../../../src/dev/client.ts";
import { pageOf } from "../../../src/protocol/common.ts";
import { type PredictionWithIO, predictionWithIO } from "../../../src/protocol/prediction.ts";
import { webhookEvent } from "../../../src/protocol/webhook.ts";
import { pixelsOf } from "../../journey/support/duotone.ts";
import type { Bed } from "../bed.ts";
import { responseEvents } from "../callers/response.ts";
import type { CallerList, End, Event, History } from "../history.ts";
import { NAMES, PAYERS } from "../plan/teams.ts";
import { exportOf, rowsOf } from "./list.ts";

/** The number of predictions that are read at once. */
const AT_ONCE = 8;
/** A log that does not end within this time is recorded as it is, ms. */
const LOG_MS = 20_000;

/** Collects the ends of all listed and all accepted predictions. */
export async function collectEnds({ clients }: Bed, history: History): Promise<End[]> {
  const ends: End[] = [];
  for (const account of PAYERS) {
    const client = clients[account];
    const rows = new Map((await rowsOf(client)).map((row) => [row.id, row]));
    const lines = await exportOf(client);
    const exported = new Map(
      lines.flatMap((line) =>
        line.type === "prediction" ? [[line.prediction.id, line.prediction]] : [],
      ),
    );
    const accepted = history.calls
      .filter(({ call }) => call.account === account)
      .flatMap(({ accepted }) => accepted.map(({ id }) => id));
    const responses = new Set(
      history.readings.filter(({ log }) => log === "response").map(({ id }) => id),
    );
    const ids = new Set([...rows.keys(), ...accepted]).values();
    const lookAtNext = async () => {
      for (const id of ids) {
        const object = await objectOf(client, id);
        ends.push({
          id,
          account,
          object,
          row: rows.get(id) ?? null,
          exported: exported.get(id) ?? null,
          log: object ? await read(client.events("GET", `/predictions/${id}/stream`, timed())) : [],
          ...(responses.has(id) && {
            response: await read(responseEvents(client, id, -1, timed().signal)),
          }),
          webhooks: object ? await ledgerOf(client, id) : [],
          ...(await pictureOf(object)),
        });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lookAtNext));
  }
  return ends;
}

/** Reads the list of each caller. */
export const listsOf = ({ callers }: Bed): Promise<CallerList[]> =>
  Promise.all(
    NAMES.map(async (by) => {
      const rows = await rowsOf(callers[by]).catch((error: unknown) => {
        if (error instanceof CallFailed) return undefined;
        throw error;
      });
      return { by, ids: rows?.map(({ id }) => id) ?? null };
    }),
  );

const ledger = pageOf(webhookEvent);

export const ledgerOf = async (client: Client, id: string) =>
  (await client.call(ledger, "GET", `/predictions/${id}/webhooks`)).items;

const timed = () => ({ signal: AbortSignal.timeout(LOG_MS) });

async function objectOf(client: Client, id: string): Promise<PredictionWithIO | null> {
  const response = await client.fetch("GET", `/predictions/${id}`);
  const text = await response.text();
  return response.ok ? predictionWithIO.parse(JSON.parse(text)) : null;
}

/** Reads a log as far as it comes: the promises notice the missing events. */
async function read(events: AsyncIterable<Event>): Promise<Event[]> {
  const log: Event[] = [];
  try {
    for await (const event of events) log.push(event);
  } catch {
    // The log did not end.
  }
  return log;
}

async function pictureOf(object: PredictionWithIO | null): Promise<{ picture?: string }> {
  const { model, status, output } = object ?? {};
  if (model?.name !== "duotone" || status !== "succeeded") return {};
  const response = await fetch(String(output));
  if (!response.ok) return { picture: `${response.status}` };
  return { picture: hashOf(await pixelsOf(Buffer.from(await response.arrayBuffer()))) };
}

export const hashOf = ({ width, height, data }: Awaited<ReturnType<typeof pixelsOf>>) =>
  `${width} x ${height} ${createHash("sha256").update(data).digest("hex").slice(0, 16)}`;
