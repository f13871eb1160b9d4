/** The form that a call takes as well as JSON, for the reference: middleware/form-body.ts reads it. */

export const FILE = { type: "string", format: "binary" } as const;
export const TEXT = { type: "string" } as const;
export const FILES = { anyOf: [FILE, { type: "array" as const, items: FILE }] };

type Property = typeof FILE | typeof TEXT | typeof FILES;

/**
 * Documents the form as another media type besides JSON. It has no TypeScript type: the route sees only JSON.
 * @param properties those that every client sends
 */
export const formContent = (required: string[], properties: Record<string, Property>): object => ({
  "multipart/form-data": {
    schema: {
      type: "object",
      required,
      properties,
      additionalProperties: {
        ...TEXT,
        description: "The other fields of the JSON body, as text; a list by repeating its name",
      },
    },
  },
});
