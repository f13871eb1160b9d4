/** What a Worker is bound to has to be there before it: queues, buckets, the database. */
import { appliedMigrations } from "./migrations.ts";
import { type Environment, enableReadReplication } from "./replication.ts";
import type { Context, Step } from "./step.ts";
import { type Wrangler, WranglerFailed } from "./wrangler.ts";

export const queues: Step = {
  title: "Queues",
  async run({ wrangler, configuration, note, change }) {
    const place = jurisdictionOf(configuration.jurisdiction);
    const there = await Promise.all(
      configuration.queues.map((name) =>
        isThere(wrangler, ["queues", "info", name], /does not exist/),
      ),
    );
    for (const [index, name] of configuration.queues.entries()) {
      if (there[index]) note(`${name} is there`);
      else await change(`create ${name}`, run(wrangler, ["queues", "create", name, ...place]));
    }
  },
};

const NO_BUCKET = /\[code: 10006\]/;

export const buckets: Step = {
  title: "R2 buckets",
  async run({ wrangler, configuration, note, change }) {
    for (const { name, jurisdiction } of configuration.buckets) {
      const place = jurisdictionOf(jurisdiction);
      // The one command on a bucket that asks for nothing but the bucket.
      const look = ["r2", "bucket", "lifecycle", "list", name, ...place];
      if (await isThere(wrangler, look, NO_BUCKET)) note(`${name} is there`);
      else
        await change(`create ${name}`, run(wrangler, ["r2", "bucket", "create", name, ...place]));
    }
  },
};

/** Whether a database that is in use has copies is up to its operators. */
export const database = (environment: Environment): Step => ({
  title: "D1 database",
  async run({ wrangler, configuration, note, change }) {
    const { database: name, jurisdiction } = configuration;
    const applied = await appliedMigrations(wrangler, name);
    const place = jurisdictionOf(jurisdiction);
    if (applied) note(`${name} is there`);
    else await change(`create ${name}`, run(wrangler, ["d1", "create", name, ...place]));
    if (applied && applied.length > 0) return;
    await change(`enable read replication of ${name}`, () =>
      enableReadReplication(wrangler, configuration, environment).catch((error: Error) => {
        note(
          `it was not enabled (${error.message}): do it in the settings of ${name} in the dashboard`,
        );
      }),
    );
  },
});

const jurisdictionOf = (name: string | undefined) => (name ? ["--jurisdiction", name] : []);

const run = (wrangler: Context["wrangler"], args: string[]) => async () => {
  await wrangler(args);
};

/** @param missing how wrangler says that there is none */
async function isThere(wrangler: Wrangler, args: string[], missing: RegExp): Promise<boolean> {
  try {
    await wrangler(args);
    return true;
  } catch (error) {
    if (error instanceof WranglerFailed && missing.test(error.message)) return false;
    throw error;
  }
}
