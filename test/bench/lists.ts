/**
 * The time of a list's first and 200th page, with many rows and with few. SQL writes the rows, and the
 * tables' triggers index them like those of the API.
 */
import { z } from "zod";
import { pageOf } from "../../src/protocol/common.ts";
import { type Bed, bundleWorker, noop, startBed } from "./bed.ts";
import type { Effort } from "./effort.ts";
import { median } from "./statistics.ts";
import { ms, type Table, times, type Verdict } from "./table.ts";

const DEPTH = 200;
const MANY = { models: 100_000, predictions: 1_000_000 };
const FEW = { models: 1_000, predictions: 10_000 };
/** Rows of one INSERT: D1 ends a statement after 30 s. */
const CHUNK = 10_000;
/** The ratio between two requests for the same page varies by about a third here. */
const MOST = 1.5;
/** The limit of predictions, which grow without end; the medians are of many requests. */
const MOST_OF_PREDICTIONS = 1.2;

const anyPage = pageOf(z.unknown());

type Database = Awaited<ReturnType<Bed["deployment"]["database"]>>;

/** Lists by name, and whether they are long enough for a 200th page. */
const LISTS: [what: string, path: string, deep: boolean][] = [
  ["predictions", "/predictions?page_size=25", true],
  ["predictions of two statuses", "/predictions?statuses=succeeded&statuses=failed", true],
  ["predictions that have failed", "/predictions?statuses=failed", true],
  ["models", "/models?page_size=25", true],
  ["models by predictions_count", "/models?sort_by=predictions_count&sort_direction=desc", true],
  [
    "models of three categories",
    "/models?category_slugs=chat&category_slugs=code&category_slugs=3d",
    true,
  ],
  ["search: a word of 1 in 100", "/search/models?q=whisper", false],
  ["search: a word of all", "/search/models?q=model", true],
  ["search: a typing error", "/search/models?q=zanzibra", false],
];

export async function measureLists(_: Bed, effort: Effort): Promise<Table> {
  const script = await bundleWorker("filling");
  const [bed, few] = [await startBed(script), await startBed(script)];
  try {
    await Promise.all([fill(bed, MANY), fill(few, FEW)]);
    const rows: string[][] = [];
    const verdicts: Verdict[] = [];
    for (const [what, path, deep] of LISTS) {
      const far = deep ? await pathOf(bed, path, DEPTH) : undefined;
      const [first, last, small]: [number[], number[], number[]] = [[], [], []];
      for (let n = 0; n < 5 * effort.rounds; n++) {
        first.push(await timed(bed, path));
        if (far) last.push(await timed(bed, far));
        small.push(await timed(few, path));
      }
      const depth = far ? median(last) / median(first) : undefined;
      const size = median(first) / median(small);
      rows.push([
        what,
        ms(median(first)),
        depth === undefined ? "" : times(depth),
        ms(median(small)),
        times(size),
      ]);
      const bound = { most: what.startsWith("predictions") ? MOST_OF_PREDICTIONS : MOST };
      if (depth !== undefined)
        verdicts.push({ what: `page ${DEPTH} to page 1, ${what}`, value: depth, bound });
      verdicts.push({ what: `many rows to few, ${what}`, value: size, bound });
    }
    return {
      title: `Pages of lists: ${MANY.models} models and ${MANY.predictions} predictions, next to a hundredth of that`,
      head: ["list", "page 1", `page ${DEPTH} ÷ page 1`, "page 1 of few", "many ÷ few"],
      rows,
      verdicts,
    };
  } finally {
    await Promise.all([bed.stop(), few.stop()]);
  }
}

/** Returns the time of one request, ms. */
async function timed({ client }: Bed, path: string): Promise<number> {
  const began = performance.now();
  const response = await client.fetch("GET", path);
  await response.text();
  if (!response.ok) throw new Error(`GET ${path} answered ${response.status}`);
  return performance.now() - began;
}

/** Returns the path of a page, found by following `next_url`. */
async function pathOf({ client, deployment }: Bed, path: string, page: number): Promise<string> {
  let at = path;
  for (let n = 1; n < page; n++) {
    const { next_url } = await client.call(anyPage, "GET", at);
    if (next_url === null) throw new Error(`GET ${path} has ${n} pages`);
    at = next_url.slice(`${deployment.url}/v1`.length);
  }
  return at;
}

async function fill(bed: Bed, { models, predictions }: typeof MANY): Promise<void> {
  const db = await bed.deployment.database();
  await inChunks(db, models, MODELS_SQL);
  await inChunks(db, models, CATEGORIES_SQL);
  await inChunks(db, models, COUNTS_SQL);
  // The first prediction of an account creates its account object.
  await noop(bed.client);
  for (let first = 1; first <= predictions; first += CHUNK) {
    const filling = fetch(`${bed.deployment.url}/fill?first=${first}&count=${CHUNK}`);
    if (!(await filling).ok) throw new Error("predictions were not filled in");
  }
  await bed.deployment.scheduled();
}

async function inChunks(db: Database, rows: number, sql: string): Promise<void> {
  for (let first = 1; first <= rows; first += CHUNK) {
    await db
      .prepare(sql)
      .bind(first, Math.min(CHUNK, rows - first + 1))
      .run();
  }
}

const NUMBERS = `WITH RECURSIVE numbers(n) AS (
  SELECT ?1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?1 + ?2 - 1)`;

/** IDs that sort by their creation, as UUIDv7 do. */
const ID = "printf('%08x-0000-7100-8000-%012x', n, n)";

const MODELS_SQL = `INSERT INTO models (id, owner_id, name, visibility, description, overview, created_at, updated_at)
  ${NUMBERS}
  SELECT ${ID}, (SELECT id FROM users LIMIT 1), 'model-' || n,
    CASE n % 10 WHEN 0 THEN 'private' ELSE 'public' END,
    CASE n % 100 WHEN 7 THEN 'Whisper, the ' || n || 'th' ELSE 'Text number ' || n END || ' that it writes',
    CASE n WHEN 501 THEN 'Made in Zanzibar' ELSE 'An overview' END, n, n FROM numbers`;

const CATEGORIES_SQL = `INSERT INTO model_categories (model_id, category_slug)
  ${NUMBERS}
  SELECT ${ID}, CASE n % 4 WHEN 1 THEN 'chat' WHEN 2 THEN 'code' WHEN 3 THEN '3d' ELSE 'ocr' END FROM numbers`;

const COUNTS_SQL = `INSERT INTO account_counts (user_id, model_id, predictions, told_at)
  ${NUMBERS}
  SELECT (SELECT id FROM users LIMIT 1), ${ID}, 1 + n % 100, n FROM numbers`;
