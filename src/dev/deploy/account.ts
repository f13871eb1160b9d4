import { z } from "zod";
import type { Step } from "./step.ts";

const user = z.object({
  email: z.string().optional(),
  accounts: z.array(z.object({ id: z.string(), name: z.string() })),
});

/** First, so that whoever is not logged in is told nothing else. */
export const account: Step = {
  title: "Cloudflare account",
  async run({ wrangler, note }) {
    const { email, accounts } = user.parse(JSON.parse(await wrangler(["whoami", "--json"])));
    const names = accounts.map(({ name, id }) => `${name} (${id})`);
    note([email, ...names].filter(Boolean).join(", "));
  },
};
