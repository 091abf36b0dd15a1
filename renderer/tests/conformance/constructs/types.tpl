{{ .Chart }}
=====
{{ printf "%v|%s" .Chart .Chart.Keywords }}
=====
{{ toYaml .Chart }}
=====
{{ .Chart.Maintainers | toJson }}{{ toYaml .Chart.Sources }}{{ .Chart.Keywords }}
=====
{{ len .Chart.Dependencies }}{{ kindOf .Chart.Dependencies }}{{ if .Chart.Sources }}x{{ end }}{{ range .Chart.Sources }}y{{ else }}z{{ end }}
=====
{{ concat .Chart.Sources (list 1) | toJson }}{{ has "a" .Chart.Keywords }}{{ join "," .Chart.Keywords }}
=====
{{ kindOf .Chart }}{{ typeOf .Chart }}
=====
{{ dict "a" (concat (list) (list)) | toJson }}{{ dict "a" (concat (list) (list)) }}
=====
{{ $none := rest (list) }}{{ $none }}{{ len $none }}{{ kindOf $none }}{{ append $none 1 | toJson }}{{ default "d" $none }}{{ not $none }}
=====
{{ rest (list 1) | toJson }}{{ initial (list 1) | toJson }}{{ concat (list) (list 1) | toJson }}
=====
[{{ slice (list) 0 1 }}]{{ slice (list) 0 1 | kindOf }}
=====
{{ regexFindAll "x" "abc" -1 }}{{ regexFindAll "x" "abc" -1 | toYaml }}{{ len (regexFindAll "x" "abc" -1) }}
=====
{{ $sum := add 1 2 }}{{ typeOf $sum }}{{ kindIs "int" $sum }}{{ $sum }}{{ eq $sum 3 }}{{ if $sum }}yes{{ end }}{{ toJson $sum }}
=====
{{ typeOf (default 1 (sub 2 2)) }}{{ typeOf (ternary (mul 2 3) 1 true) }}{{ typeOf (int (add 1 1)) }}{{ typeOf (int64 "7") }}
=====
{{ range add 1 1 }}{{ . }}{{ end }}{{ with add 1 1 }}{{ typeOf . }}{{ end }}
=====
{{ typeOf (max 1 2) }}{{ typeOf (floor 1.5) }}{{ typeOf (len "ab") }}{{ typeOf (atoi "3") }}{{ typeOf (toDecimal "17") }}
=====
{{ duration 90 }} {{ duration (int64 90) }} {{ duration "90" }} {{ duration (add 60 30) }} {{ duration 90.5 }} {{ $n := 90 }}{{ duration $n }}
=====
{{ dict "n" (add 1 2) | toYaml }}{{ list (add 1 2) "a" | toJson }}{{ printf "%d %v" (add 1 2) (add 1 2) }}
=====
{{ define "t" }}{{ typeOf . }}{{ end }}{{ include "t" (add 1 2) }}{{ template "t" (add 1 2) }}{{ tpl "{{ typeOf . }}" (mul 2 2) }}
=====
{{ empty (sub 1 1) }}{{ coalesce (sub 1 1) 5 }}{{ and (sub 1 1) 2 }}{{ or (sub 1 1) 2 }}{{ not (sub 1 1) }}
