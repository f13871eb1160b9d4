/** `/find`: what there is under some words. */
import { pages } from "../context.ts";
import { findAll, MAX_QUERY } from "./found.ts";
import { FindPage } from "./page.tsx";

export const findPages = pages().get("/find", async (c) => {
  const query = c.req.query("q")?.trim().slice(0, MAX_QUERY) ?? "";
  const groups = await findAll(c, query);
  return c.render(<FindPage query={query} groups={groups} />, {
    title: query === "" ? "Find" : `Find: ${query}`,
  });
});
