/** What every page shares: the types of its context, and who looks at it. */
import { type Context, Hono } from "hono";
import type { AppEnv } from "../context.ts";
import type { Manifest } from "../protocol/assets.ts";
import type { Caller } from "../services/accounts/caller.ts";
import type { Session } from "../services/sign-in/sessions.ts";
import type { UserRow } from "../storage/accounts/users.ts";

/** Somebody who is signed in and has a user. */
export interface Viewer {
  user: UserRow;
  operator: boolean;
  email: string;
  session_id: string;
  session: Session;
  /** As services know who asks. */
  caller: Caller;
}

export interface Dashboard {
  Bindings: AppEnv["Bindings"];
  Variables: AppEnv["Variables"] & {
    /** Scheme and host that the request came to. */
    origin: string;
    assets: Manifest;
    session: Session | undefined;
    viewer: Viewer | undefined;
    /** What a form of this session has to carry; empty without one. */
    formToken: string;
    /** What a form before this page has done, to be said once. */
    flash: string | undefined;
  };
}

export type PageContext = Context<Dashboard>;

/** A group of pages and of what their forms do. */
export const pages = () => new Hono<Dashboard>();

interface PageProps {
  /** The page's own; the product's name is added. */
  title: string;
  /** Files of src/dashboard/client, without `.ts`, besides `page`. */
  scripts?: string[];
}

declare module "hono" {
  interface ContextRenderer {
    // biome-ignore lint/style/useShorthandFunctionType: an interface is what Hono merges
    (content: unknown, props: PageProps): Response | Promise<Response>;
  }
}
