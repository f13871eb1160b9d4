/** Part of a page, rendered for client code. */
import type { Child } from "hono/jsx";
import { RequestContext } from "hono/jsx-renderer";
import type { PageContext } from "../context.ts";

/** Renders without the layout, but with the context that forms need. */
export const fragment = (c: PageContext, content: Child) =>
  c.html(<RequestContext.Provider value={c}>{content}</RequestContext.Provider>);
