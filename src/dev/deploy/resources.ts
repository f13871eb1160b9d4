/** Resources that a Worker is bound to and that have to be made before it: queues, buckets, the database. */
import { z } from "zod";
import { appliedMigrations, findDatabase } from "./migrations.ts";
import type { Step } from "./step.ts";

const anything = z.unknown();
const NO_BUCKET = 10006;

export const queues: Step = {
  title: "Queues",
  async run({ cloudflare, configuration: { queues: names, jurisdiction }, note, change }) {
    const query = new URLSearchParams(names.map((name): [string, string] => ["name", name]));
    const shape = z.array(z.object({ queue_name: z.string() }));
    const there = await cloudflare.call("GET", `/queues?${query}`, { shape });
    for (const name of names) {
      const body = { queue_name: name, ...(jurisdiction && { jurisdiction }) };
      if (there.some(({ queue_name }) => queue_name === name)) note(`${name} is there`);
      else
        await change(`create ${name}`, () =>
          cloudflare.call("POST", "/queues", { shape: anything, body }),
        );
    }
  },
};

export const buckets: Step = {
  title: "R2 buckets",
  async run({ cloudflare, configuration, note, change }) {
    for (const { name, jurisdiction } of configuration.buckets) {
      const there = await cloudflare.find(`/r2/buckets/${name}`, [NO_BUCKET], {
        shape: z.object({ name: z.string() }),
        jurisdiction,
      });
      if (there) note(`${name} is there`);
      else
        await change(`create ${name}`, () =>
          cloudflare.call("POST", "/r2/buckets", { shape: anything, body: { name }, jurisdiction }),
        );
    }
  },
};

/** Operators decide whether a database in use has read replicas. */
export const database: Step = {
  title: "D1 database",
  async run({ cloudflare, configuration: { database: name, jurisdiction }, note, change }) {
    const there = await findDatabase(cloudflare, name);
    const body = { name, ...(jurisdiction && { jurisdiction }) };
    if (there) note(`${name} is there`);
    else
      await change(`create ${name}`, () =>
        cloudflare.call("POST", "/d1/database", { shape: anything, body }),
      );
    if (there && (await appliedMigrations(cloudflare, name))?.length) return;
    await change(`enable read replication of ${name}`, async () => {
      try {
        const made = there ?? (await findDatabase(cloudflare, name));
        if (!made) throw new Error("Cloudflare does not know it yet");
        const replicated = { read_replication: { mode: "auto" } };
        await cloudflare.call("PATCH", `/d1/database/${made.uuid}`, {
          shape: anything,
          body: replicated,
        });
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        note(`it was not enabled (${why}): do it in the settings of ${name} in the dashboard`);
      }
    });
  },
};

/** The login is the first step, so that a missing login is the only error shown. */
export const account: Step = {
  title: "Cloudflare account",
  async run({ cloudflare, note }) {
    const { name, id } = await cloudflare.account();
    note(`${name} (${id})`);
  },
};
