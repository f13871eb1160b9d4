DROP INDEX `uploads_expires`;--> statement-breakpoint
CREATE INDEX `uploads_expires` ON `uploads` (`user_id`,`expires_at`);