/** GET /v1/vendora/responses with an upgrade: responses over a WebSocket. */
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "../../context.ts";
import { ProblemError } from "../../errors/errors.ts";
import { requireScope } from "../../middleware/authentication.ts";
import { limitOpenStream } from "../../middleware/concurrent-requests.ts";
import { ResponseSocket } from "../../services/openai/response-socket.ts";
import { SocketContext } from "../../services/openai/socket-context.ts";
import { router } from "../router.ts";

/** Headers of the upgrade itself. All other headers are those of each call, such as its token. */
const OF_UPGRADE = /^(?:connection|upgrade|content-.*|sec-websocket-.*|idempotency-key)$/;

/** The close code for a policy violation: the socket's token has ended. */
const NOT_ALLOWED = 1008;

/** @param fetch the handler of all requests */
export const responseSocketRoutes = (
  fetch: (request: Request, c: Context<AppEnv>) => Response | Promise<Response>,
) =>
  router().get("/vendora/responses", requireScope("predict"), requireUpgrade, async (c) => {
    const { 0: client, 1: server } = new WebSocketPair();
    await limitOpenStream(c, async () => {
      server.accept();
      const context = new SocketContext(c.var.caller.user_id);
      const socket = new ResponseSocket(server, c.var.caller.user_id, context, (body, signal) => {
        const call = callOf(c.req.raw, body, signal);
        context.attach(call);
        return fetch(call, c);
      });
      return {
        body: new ReadableStream(),
        over: socket.over,
        end: async () => socket.close(NOT_ALLOWED, "The token has ended."),
      };
    });
    return new Response(null, { status: 101, webSocket: client });
  });

/** Skips the route without an upgrade, as if there were only POST. */
const requireUpgrade = createMiddleware<AppEnv>((c, next) => {
  if (c.req.header("upgrade")?.toLowerCase() === "websocket") return next();
  const detail = "This URL does not support GET, but for a WebSocket. It supports POST.";
  throw new ProblemError("method_not_allowed", detail, { allow: "POST" });
});

function callOf({ url, headers: upgrade }: Request, body: string, signal: AbortSignal): Request {
  const headers = new Headers([...upgrade].filter(([name]) => !OF_UPGRADE.test(name)));
  const bytes = new TextEncoder().encode(body);
  headers.set("content-type", "application/json");
  headers.set("content-length", String(bytes.length));
  return new Request(url, { method: "POST", headers, body: streamOf(bytes), signal });
}

/** Returns bytes as a stream: a request keeps bytes for as long as it lasts. */
function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(bytes);
      controller.close();
    },
  });
}
