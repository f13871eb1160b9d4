/** What anybody can open. */
import type { Check } from "./check.ts";

const PAGES = [
  "/",
  "/set-up",
  "/docs",
  "/v1/openapi.json",
  "/v1/models",
  "/auspex-runner.tgz",
  "/auspex.tgz",
  "/auspex-webhooks.tgz",
];

export const pages: Check = {
  name: "Pages",
  async run({ url }) {
    const answers = await Promise.all(
      PAGES.map(async (path) => {
        const response = await fetch(url + path, { signal: AbortSignal.timeout(30_000) });
        await response.body?.cancel();
        return response.ok ? [] : [`${path} answers ${response.status}`];
      }),
    );
    if (answers.flat().length > 0) throw new Error(answers.flat().join(", "));
    return `${PAGES.length} answer: ${PAGES.join(" ")}`;
  },
};
