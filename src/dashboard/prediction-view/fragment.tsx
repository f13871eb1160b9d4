/** A part of a page, for client code that puts it in its place. */
import type { Child } from "hono/jsx";
import { RequestContext } from "hono/jsx-renderer";
import type { PageContext } from "../context.ts";

/** Without the frame around it, but with what its forms need to know. */
export const fragment = (c: PageContext, content: Child) =>
  c.html(<RequestContext.Provider value={c}>{content}</RequestContext.Provider>);
