/** What a Worker is bound to has to be there before it: queues, buckets, the database. */
import { appliedMigrations } from "./migrations.ts";
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

export const database: Step = {
  title: "D1 database",
  async run({ wrangler, configuration, note, change }) {
    const { database: name, jurisdiction } = configuration;
    if (await appliedMigrations(wrangler, name)) return note(`${name} is there`);
    const place = jurisdictionOf(jurisdiction);
    await change(`create ${name}`, run(wrangler, ["d1", "create", name, ...place]));
  },
};

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
