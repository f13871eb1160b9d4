import type { Step } from "./step.ts";

/** First, so that whoever is not logged in is told nothing else. */
export const account: Step = {
  title: "Cloudflare account",
  async run({ cloudflare, note }) {
    const { name, id } = await cloudflare.account();
    note(`${name} (${id})`);
  },
};
