/** POST /v1/vendora/images/generations and /v1/vendora/images/edits. */
import { createRoute } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { AppEnv } from "../../context.ts";
import { requireScopeToRun } from "../../middleware/authentication.ts";
import { takesDataUris } from "../../middleware/body.ts";
import { limitOpenStream, limitWaitingRequest } from "../../middleware/concurrent-requests.ts";
import { takesForm } from "../../middleware/form-body.ts";
import { modelInBody } from "../../middleware/named-model.ts";
import {
  addPredictionHeaders,
  callIn,
  resolveTarget,
  waitForEnd,
} from "../../middleware/openai.ts";
import {
  type AskedImages,
  type ImageRequest,
  imageEditRequest,
  imageRequest,
} from "../../protocol/openai/image.ts";
import { askedOf, type BegunCall } from "../../services/openai/calls.ts";
import { imageStream } from "../../services/openai/image-stream.ts";
import { beginEdit, beginImages, imagesAnswer, isServer } from "../../services/openai/images.ts";
import { router } from "../router.ts";
import {
  body,
  callErrors,
  callHeaders,
  callResponse,
  callRoute,
  FILE,
  FILES,
  formContent,
  openAiErrorResponse,
  openAiEvents,
  TEXT,
  tags,
} from "./document.ts";

const images = body("Images", "Images in the format of OpenAI's API");

const IMAGES = {
  created: 1_795_000_000,
  output_format: "png",
  data: [
    {
      url: "https://auspex.example.com/v1/files/01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e/x7Kd02ab-out.png?expires=1795310130&signature=Jv3c0yWm1xPq8sT5uZ7aB9dE2fG4hK6nL-oR_iQwXkY",
      b64_json: "iVBORw0KGgo…",
    },
  ],
};

const EVENTS = `event: image_generation.completed
data: {"type":"image_generation.completed","created_at":1795000000,"size":"1024x1024","quality":"auto","background":"auto","output_format":"png","usage":{"total_tokens":0,"input_tokens":0,"output_tokens":0,"input_tokens_details":{"text_tokens":0,"image_tokens":0}},"b64_json":"iVBORw0KGgo…"}

`;

const responses = {
  200: callResponse("The images, or a stream of events", images, IMAGES, EVENTS),
  ...callErrors,
  400: openAiErrorResponse(
    "The version does not support the call or a parameter, or its container rejected the request",
  ),
};

const HOW =
  "For Cog models, parameters become inputs of the schema; one that would change the image but has no matching input returns 400. Servers receive the request unchanged. Each image is stored as a file of the prediction. `response_format` selects its URL or base64; by default you get both. Closing the connection cancels the request. Requires the scope `predict`.";

const generate = callRoute("images_generations", imageRequest, {
  path: "/vendora/images/generations",
  operationId: "createImage",
  summary: "Create images",
  description: `Creates images from text in the format of OpenAI's API. The version must have the compatibility \`vendora_images_generations\`. ${HOW}`,
  responses,
});

const edit = createRoute({
  method: "post",
  path: "/vendora/images/edits",
  operationId: "editImage",
  tags,
  summary: "Edit images",
  description: `Edits images as described by text, in the format of OpenAI's API. The version must have the compatibility \`vendora_images_edits\`. Send the images as files of a form, or as URLs or data URIs in JSON. ${HOW}`,
  middleware: [
    takesDataUris,
    requireScopeToRun(modelInBody),
    addPredictionHeaders,
    takesForm("images_edits", imageEditRequest),
    resolveTarget("images_edits"),
  ] as const,
  request: {
    headers: callHeaders,
    body: {
      required: true,
      content: {
        "application/json": { schema: imageEditRequest },
        ...formContent(["model", "prompt", "image"], {
          ...{ model: TEXT, prompt: TEXT },
          ...{ image: FILES, mask: FILE },
        }),
      },
    },
  },
  responses,
});

export const imageRoutes = router();

imageRoutes.openapi(generate, async (c) => {
  const { services, caller } = c.var;
  const headers = c.req.valid("header");
  return answered(c, askedIn(c.req.valid("json")), "image_generation", () => {
    const { webhook, ...request } = c.req.valid("json");
    return beginImages(services, caller, request, { ...callIn(c, headers), webhook });
  });
});

imageRoutes.openapi(edit, async (c) => {
  const { services, caller } = c.var;
  const headers = c.req.valid("header");
  return answered(c, askedIn(c.req.valid("json")), "image_edit", async () => {
    const { webhook, ...request } = c.req.valid("json");
    return beginEdit(services, caller, request, { ...callIn(c, headers), webhook });
  });
});

/** Returns the request without what the model reads, which may be megabytes: the call waits for minutes. */
function askedIn(request: ImageRequest): AskedImages & Pick<ImageRequest, "stream" | "n"> {
  const { stream, n, size, quality, background, output_format, response_format } = request;
  return { stream, n, size, quality, background, output_format, response_format };
}

async function answered(
  c: Context<AppEnv>,
  request: ReturnType<typeof askedIn>,
  event: string,
  begin: () => Promise<BegunCall>,
): Promise<Response> {
  const { services, target } = c.var;
  const beginning = async () => {
    const begun = await begin();
    c.set("predictionId", begun.id);
    return { ...begun, request: askedOf(begun.request) };
  };
  if (request.stream) {
    const options = { request, event, isServer: isServer(target) };
    return openAiEvents(
      await limitOpenStream(c, async () => imageStream(services, await beginning(), options)),
    );
  }
  return limitWaitingRequest(c, async () => {
    const ended = await waitForEnd(c, await beginning());
    const stream = await imagesAnswer(services, request, target, ended);
    return new Response(stream, { headers: { "content-type": "application/json" } });
  });
}
