# Build: docker build -t turnstone .
# Run:   docker run -p 8091:8091 -v turnstone:/data -e TURNSTONE_DISCORD_TOKEN -e OPENAI_API_KEY turnstone
FROM node:24-bookworm-slim

RUN apt-get update \
 && apt-get install -y --no-install-recommends bash git grep ca-certificates tini \
 && rm -rf /var/lib/apt/lists/*

WORKDIR /app
COPY package.json package-lock.json ./
# The image brings its own Node.js; of the packages only what runs in production is kept.
RUN npm ci --omit=dev --ignore-scripts && npm cache clean --force
COPY src ./src
COPY channels ./channels
COPY tools ./tools
COPY config.example.toml LICENSE ./

# The gateway is no root here; tools run as the same user, on the workspace below /data.
RUN useradd --system --create-home --uid 10001 turnstone && mkdir -p /data && chown turnstone:turnstone /data
USER turnstone
WORKDIR /data
VOLUME /data
ENV NODE_ENV=production
EXPOSE 8091
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8091/health').then(r=>process.exit(r.ok?0:1),()=>process.exit(1))"]
# Listens on all interfaces only if config.toml says so: http.host = "0.0.0.0".
ENTRYPOINT ["tini", "--", "node", "--max-semi-space-size=2", "/app/src/app/main.ts"]
CMD ["serve"]
