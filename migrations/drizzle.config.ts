import { defineConfig } from "drizzle-kit";

export default defineConfig({
  dialect: "sqlite",
  schema: "./src/storage/schema/index.ts",
  out: "./migrations",
  casing: "snake_case",
});
