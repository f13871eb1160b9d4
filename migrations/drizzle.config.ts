import { defineConfig } from "drizzle-kit";

export default defineConfig({
  dialect: "sqlite",
  schema: ["./src/storage/schema.ts", "./src/storage/sign-in-schema.ts"],
  out: "./migrations",
  casing: "snake_case",
});
