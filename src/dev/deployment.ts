/**
 * A local deployment for `npm start`, the tests and the bench: the production bundle in workerd, with
 * D1, queues and Durable Objects stored in a folder.
 */
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { z } from "zod";
import { ROOT } from "./bundle.ts";

/** Settings of the Worker in wrangler.toml, as Miniflare takes them; plain JSON. */
export type Configuration = Awaited<ReturnType<typeof readConfiguration>>;

export interface DeploymentOptions {
  /** The bundle's script. */
  script: string;
  /** Given by callers that start many deployments; otherwise wrangler.toml is read. */
  configuration?: Configuration;
  /** Folder in which state is stored. Without it, state is lost at the end. */
  stateFolder?: string;
  /** 0: any free port. */
  port: number;
  operatorToken: string;
  /** SECRET_KEY of the deployment, at least 32 characters. */
  secretKey: string;
  /** Overrides of the variables in wrangler.toml. */
  variables?: Record<string, string>;
}

type Database = Awaited<ReturnType<Miniflare["getD1Database"]>>;

export interface Deployment {
  url: string;
  database(): Promise<Database>;
  /** Runs the scheduled handler with that time. */
  scheduled(at?: Date): Promise<void>;
  stop(): Promise<void>;
}

export class PortTaken extends Error {}

export async function startDeployment(options: DeploymentOptions): Promise<Deployment> {
  const configuration = options.configuration ?? (await readConfiguration());
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      host: "127.0.0.1",
      port: options.port,
      cf: false,
      log: new Log(LogLevel.WARN),
      ...(options.stateFolder !== undefined && { resourcePersistencePath: options.stateFolder }),
      workers: workersOf(options, configuration),
    }),
  );
  const url = await miniflare.ready;
  const deployment: Deployment = {
    url: url.origin,
    database: () => miniflare.getD1Database("DB"),
    scheduled: async (at = new Date()) => {
      const worker = await miniflare.getWorker();
      await worker.scheduled({ cron: "* * * * *", scheduledTime: at });
    },
    // Kills workerd and waits for its exit. SIGKILL, because with open polls it survives a SIGTERM.
    stop: () => miniflare.dispose(),
  };
  try {
    await migrate(await deployment.database(), options);
  } catch (error) {
    await deployment.stop();
    throw error;
  }
  return deployment;
}

const objectClasses = z.record(
  z.string(),
  z.object({ className: z.string(), useSQLite: z.boolean() }),
);

/** Registry of images that were not pushed here: the process engine's models are folders. */
const FOLDERS = { IMAGE_REGISTRY: "folders.invalid" };

const NAME = "auspex";

function workersOf(options: DeploymentOptions, configuration: Configuration) {
  // The unique key keeps the place of an object's state independent of the script that has its class.
  const classes = Object.entries(objectClasses.parse(configuration.durableObjects));
  const durableObjects = classes.map(([binding, object]) => {
    const unsafeUniqueKey = `${NAME}-${object.className}`;
    return [binding, { ...object, scriptName: NAME, unsafeUniqueKey }] as const;
  });
  const worker = {
    ...configuration,
    durableObjects: Object.fromEntries(durableObjects),
    bindings: Object.assign({}, configuration.bindings, FOLDERS, options.variables, {
      // workerd implements no jurisdictions.
      JURISDICTION: "",
      OPERATOR_TOKEN: options.operatorToken,
      SECRET_KEY: options.secretKey,
    }),
    modulesRoot: "/",
  };
  const modules = [{ type: "ESModule" as const, path: "/worker.js", contents: options.script }];
  return [{ ...worker, name: NAME, modules }];
}

/** Importing wrangler takes a second. */
export async function readConfiguration() {
  const { unstable_getMiniflareWorkerOptions } = await import("wrangler");
  return unstable_getMiniflareWorkerOptions(join(ROOT, "wrangler.toml")).workerOptions;
}

const schemas = z.object({
  /** SHA-256 of each migration, by file. */
  migrations: z.record(z.string(), z.string()),
  /** SHA-256 of the tables of Durable Objects. */
  objects: z.string(),
});

/**
 * Applies pending migrations and records them as wrangler does. State of another version cannot be used: its
 * migrations or the tables of its objects differ, whatever the files are called.
 * @throws Error for such a state
 */
async function migrate(db: Database, { stateFolder, script }: DeploymentOptions): Promise<void> {
  await db.exec(
    "CREATE TABLE IF NOT EXISTS d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)",
  );
  const { results } = await db.prepare("SELECT name FROM d1_migrations").all<{ name: string }>();
  const applied = new Set(results.map(({ name }) => name));
  const folder = join(ROOT, "migrations");
  const files = (await readdir(folder)).filter((file) => file.endsWith(".sql")).sort();
  const texts = new Map<string, string>();
  for (const file of files) texts.set(file, await readFile(join(folder, file), "utf8"));
  const tables = script.match(/CREATE (?:TABLE|(?:UNIQUE )?INDEX) IF NOT EXISTS[^;`"]+/g) ?? [];
  const now = {
    migrations: Object.fromEntries([...texts].map(([file, text]) => [file, sha256(text)])),
    objects: sha256(tables.toSorted().join()),
  };
  if (stateFolder !== undefined) {
    const file = join(stateFolder, "schemas.json");
    const text = applied.size > 0 ? await readFile(file, "utf8").catch(() => "{}") : undefined;
    const last = text === undefined ? now : schemas.safeParse(JSON.parse(text)).data;
    const isSame = (name: string) =>
      name in now.migrations && last?.migrations[name] === now.migrations[name];
    if (last?.objects !== now.objects || ![...applied].every(isSame))
      throw new Error(
        `The state in ${stateFolder} was created by another version of Auspex. Delete it and start again: rm -r ${stateFolder}`,
      );
    await writeFile(file, JSON.stringify(now));
  }
  for (const [file, text] of texts) {
    if (applied.has(file)) continue;
    const statements = text.split("--> statement-breakpoint").map((sql) => db.prepare(sql));
    await db.batch([
      ...statements,
      db.prepare("INSERT INTO d1_migrations (name) VALUES (?)").bind(file),
    ]);
  }
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Checks that the port is free. Callers do so first, since a build takes seconds. @throws PortTaken */
export function assertFree(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", () => reject(new PortTaken(`Port ${port} is taken.`)));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve()));
  });
}
