/** The passages that can be searched for: the sections of guides, and the calls of the API. */
import { operationsIn } from "../../../openapi/document.ts";
import type { Document } from "../../../openapi/types.ts";
import type { Passage } from "../../../protocol/guide.ts";
import { REFERENCE } from "../contents.ts";

export const callsIn = (document: Document): Passage[] =>
  operationsIn(document).map(({ operation, method, path }) => ({
    path: REFERENCE,
    page: "API reference",
    id: operation.operationId ?? "",
    title: operation.summary ?? path,
    text: `${method.toUpperCase()} ${path} ${operation.description ?? ""}`,
  }));
