/** The server of `--metrics-address`: GET /metrics, with what the containers of the runner serve. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { expositionOf, OPENMETRICS } from "../../../src/lib/openmetrics.ts";
import { withTimeout } from "../../../src/lib/timeout.ts";
import { internal } from "../../../src/run/failure.ts";
import type { Executor, StorageUse } from "../jobs/executor.ts";
import type { Slots } from "../jobs/slots.ts";
import { reasonOf } from "../lib/error.ts";
import { mergedFamilies } from "./merge.ts";
import { ownFamilies } from "./own.ts";
import { ContainerScraper } from "./scrape.ts";

export interface MetricsServerOptions {
  address: { host: string; port: number };
  /** The runner's name. */
  runner: string;
  executor: Pick<Executor, "state" | "serving" | "storage">;
  slots: Pick<Slots, "size" | "ids">;
}

/** Docker may not answer: the metrics then have no sizes of images. */
const STORAGE_MS = 2_000;
/** Each that reads slowly keeps a copy of the text, of up to 20 MB. */
const MAX_CONNECTIONS = 20;

/** @throws Failure if the address cannot be used */
export async function serveMetrics(options: MetricsServerOptions): Promise<Server> {
  const { host, port } = options.address;
  const scraper = new ContainerScraper(options.runner);
  let reading: Promise<string> | undefined;
  const server = createServer(async (request, response) => {
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (!isRead || request.url?.replace(/\?.*/, "") !== "/metrics")
      return response.writeHead(404, { "content-type": "text/plain" }).end("GET /metrics\n");
    // Collectors that ask at the same time share one reading of the containers.
    reading ??= exposition(options, scraper).finally(() => {
      reading = undefined;
    });
    const text = await reading;
    response.writeHead(200, { "content-type": OPENMETRICS }).end(text);
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.listen(port, host);
  await once(server, "listening").catch((cause: unknown) => {
    throw internal(`cannot listen on ${host}:${port} (--metrics-address): ${reasonOf(cause)}`, {
      cause,
    });
  });
  return server.unref();
}

async function exposition(
  { runner, executor, slots }: MetricsServerOptions,
  scraper: ContainerScraper,
): Promise<string> {
  const none: StorageUse = { disks: {}, caches: {} };
  const [passed, storage] = await Promise.all([
    scraper.scrape(executor.serving()),
    withTimeout(executor.storage(), STORAGE_MS).catch(() => none),
  ]);
  const used = slots.ids.length;
  const figures = { runner, state: executor.state(), slots: { size: slots.size, used } };
  return expositionOf([...ownFamilies({ ...figures, storage, passed }), ...mergedFamilies(passed)]);
}
